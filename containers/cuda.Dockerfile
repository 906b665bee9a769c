# lookaway on NVIDIA GPUs: all extras. Torch's own packages bring CUDA; the machine needs a driver and the NVIDIA
# container toolkit. From the root of a checkout:
#
#   python -m release.check_artifacts dist
#   docker build --file containers/cuda.Dockerfile --tag lookaway:cuda .
#   docker run --rm --gpus all --volume "$PWD:/data" lookaway:cuda eval clips -o runs/first
#
# TORCH_INDEX is the index of another build of torch, where the driver is too old for the usual one.
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
ENV PATH=/opt/lookaway/bin:$PATH PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 1000
WORKDIR /data
ENTRYPOINT ["lookaway"]
CMD ["--help"]
