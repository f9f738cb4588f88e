# The service, `tailcut serve`, with its state file on a volume. Build: docker build --tag tailcut .
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m venv /opt/tailcut \
    && /opt/tailcut/bin/pip install --no-cache-dir --constraint /source/constraints.txt '/source[cli,service]'

FROM python:3.13-slim
COPY --from=build /opt/tailcut /opt/tailcut
RUN useradd --system --uid 1000 --create-home tailcut && install --directory --owner tailcut /data
ENV PATH=/opt/tailcut/bin:$PATH
USER 1000
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/v1/health', timeout=4)"]
ENTRYPOINT ["tailcut", "serve", "--state", "/data/farm.db", "--host", "0.0.0.0", "--port", "8765"]
