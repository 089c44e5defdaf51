"""The cache of replies.

A provider call looks up its reply by a key of the whole request and of its scope, the place in the run from which it is made. A
kept reply is sealed: an HMAC, with a key that follows from the credential of the request, proves who wrote it.
"""
