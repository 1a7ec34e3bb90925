FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
WORKDIR /app
# A smaller young generation: 10 MB less at rest, no slower (docs/decisions.md).
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=8
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/migrations ./migrations
COPY --from=build /app/dist ./dist
USER node
EXPOSE 3000 3001 4010
# Which process runs here is the command's choice, so it also says where it is asked.
ENV HEALTH_URL=http://127.0.0.1:3000/health/live
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(process.env.HEALTH_URL).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/apps/api/src/main.js"]
