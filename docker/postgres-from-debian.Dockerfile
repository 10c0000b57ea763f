# What docker/try uses where the image postgres:15-bookworm cannot be pulled: Debian's own PostgreSQL 15 behind the same
# three environment variables. Not for production.
FROM debian:bookworm-slim
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-15 \
  && rm -rf /var/lib/apt/lists/*
COPY postgres-from-debian.sh /usr/local/bin/start
ENV PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/data
RUN install -d -o postgres -g postgres /var/lib/postgresql/data && chmod 755 /usr/local/bin/start
USER postgres
VOLUME /var/lib/postgresql/data
CMD ["start"]
