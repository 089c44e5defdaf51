# The base can be replaced (--build-arg BASE=...): any Debian bookworm with python3 3.11+, its venv module and CA certificates.
ARG BASE=python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254

FROM ${BASE} AS build
COPY requirements.lock /build/requirements.lock
# Two environments, so that the shipped one has no pip.
RUN python3 -m venv /build/pip \
    && python3 -m venv --without-pip /opt/gradegate \
    && /build/pip/bin/pip --python /opt/gradegate/bin/python install --no-cache-dir --only-binary :all: \
        --require-hashes -r /build/requirements.lock
COPY src/gradegate /build/gradegate
RUN cp -r /build/gradegate "$(/opt/gradegate/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
    && /opt/gradegate/bin/python -m compileall -q /opt/gradegate/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="gradegate" \
      org.opencontainers.image.description="Gates pull requests on LLM evals" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/gradegate /opt/gradegate
# Whoever starts the image on the network of the machine says so: loopback is another place then.
ENV GRADEGATE_NETWORK=container
# The runner starts this in the checked-out pull request: -I keeps that directory, PYTHON* variables and the user's
# site-packages off sys.path. No USER: the runner's mounts belong to root.
ENTRYPOINT ["/opt/gradegate/bin/python", "-I", "-m", "gradegate", "action"]
