# To pin the base image: --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
# The build context has no git history, so pass the commit: --build-arg COMMIT=$(git rev-parse --short HEAD)
ARG COMMIT
# TypeScript (24 MB) stays after the prune as an optional peer of @nestjs/swagger, for a plugin that we do not use.
# The SBOM lists the packages that are in the image. npm would call the packages of development missing, so package.json no longer names them.
RUN COMMIT=$COMMIT npm run build && npm prune --omit=dev --no-audit --no-fund && rm -rf node_modules/typescript \
  && npm pkg delete devDependencies overrides && npm sbom --sbom-format=cyclonedx > sbom.cdx.json

FROM ${NODE_IMAGE}
ARG COMMIT
LABEL org.opencontainers.image.title="Pacekeeper" \
  org.opencontainers.image.description="The open backend between endurance apps and their vendors" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="0.2.0" \
  org.opencontainers.image.revision="$COMMIT"
WORKDIR /app
# The smaller young generation saves 10 MB at rest and is not slower (docs/decisions.md).
# npm needs a writable cache, and with a read-only root only /tmp is writable.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=8 NPM_CONFIG_CACHE=/tmp/npm NPM_CONFIG_UPDATE_NOTIFIER=false
# The tools of bin/tool.mjs (`npm run migrate`, `rotate-keys`, `reread`) and `npm run token` work in the image. `npm start` does not: it needs
# the sources.
COPY --from=build /app/package.json /app/LICENSE /app/sbom.cdx.json ./
COPY --from=build /app/bin ./bin
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/migrations ./migrations
COPY --from=build /app/dist ./dist
USER node
EXPOSE 3000 3001 4010
# The command decides which process runs. Another command needs another HEALTH_URL.
ENV HEALTH_URL=http://127.0.0.1:3000/health/live
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(process.env.HEALTH_URL).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/apps/api/src/main.js"]
