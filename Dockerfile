# The base can be replaced (--build-arg BASE=...): any Debian with python3 3.11+, its venv module and CA certificates.
ARG BASE=python:3.14.7-slim-trixie@sha256:51dafde81dbdb6ebde285137a295cf18a47ca95234fe388a343719cb97305b3d

FROM ${BASE} AS build
COPY requirements.lock container/lean.py container/compiled.py /build/
# Two environments, so that the shipped one has no pip.
RUN python3 -m venv /build/pip \
    && python3 -m venv --without-pip /opt/gradegate \
    && /build/pip/bin/pip --python /opt/gradegate/bin/python install --no-cache-dir --no-compile --only-binary :all: \
        --require-hashes -r /build/requirements.lock \
    && python3 /build/lean.py /opt/gradegate
COPY src/gradegate /build/gradegate
# By hash and not by time: a build that sets the times of its files anew would make all of it stale (compiled.py says more).
RUN cp -r /build/gradegate "$(/opt/gradegate/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
    && /opt/gradegate/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/gradegate/lib \
    && /opt/gradegate/bin/python -I /build/compiled.py /build/compiled

FROM ${BASE}
LABEL org.opencontainers.image.title="gradegate" \
      org.opencontainers.image.description="Gates pull requests on LLM evals" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/gradegate /opt/gradegate
COPY --from=build /build/compiled /
# Whoever starts the image on the network of the machine says so: loopback is another place then.
ENV GRADEGATE_NETWORK=container
# The runner starts this in the checked-out pull request: -I keeps that directory, PYTHON* variables and the user's
# site-packages off sys.path. No USER: the runner's mounts belong to root.
ENTRYPOINT ["/opt/gradegate/bin/python", "-I", "-m", "gradegate", "action"]
