# lookaway without a GPU: all extras, and the simulated world drawn in software. From the root of a checkout:
#
#   python -m release.check_artifacts dist
#   docker build --file containers/cpu.Dockerfile --tag lookaway:cpu --build-arg TORCH_INDEX=INDEX .
#   docker run --rm --volume "$PWD:/data" lookaway:cpu demo
#
# TORCH_INDEX is the index of torch's builds for processors; without it, the usual index gives a larger build.
# PYTHON_IMAGE takes a digest where an image must be the same for ever.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ARG TORCH_INDEX=""
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PATH=/opt/lookaway/bin:$PATH
WORKDIR /build
# hadolint ignore=DL3013
RUN python3 -m venv /opt/lookaway \
    && python -m pip install torch==2.13.0 ${TORCH_INDEX:+--index-url "$TORCH_INDEX"}
COPY locks/runtime.lock ./
RUN python -m pip install --no-deps --require-hashes --requirement runtime.lock
COPY dist/lookaway-*.whl ./
RUN python -m pip install --no-deps --no-index ./lookaway-*.whl

FROM ${PYTHON_IMAGE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libegl1 libgl1-mesa-dri libopengl0 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 lookaway \
    && install --directory --owner lookaway /data
COPY --from=build /opt/lookaway /opt/lookaway
ENV PATH=/opt/lookaway/bin:$PATH PYTHONUNBUFFERED=1
USER 1000
WORKDIR /data
ENTRYPOINT ["lookaway"]
CMD ["--help"]
