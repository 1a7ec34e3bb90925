export interface Tracing {
  readonly enabled: boolean;
  /** Sends what is still buffered. */
  stop(): Promise<void>;
}

const OFF: Tracing = { enabled: false, stop: () => Promise.resolve() };

/** The SDK is loaded only where spans have somewhere to go; without an endpoint every span is the API's no-op. */
export async function startTracing(endpoint: string | undefined, serviceName: string): Promise<Tracing> {
  if (!endpoint) return OFF;
  const [{ NodeTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: 5_000 });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  // Registers the W3C propagator and the context that follows async calls.
  provider.register();
  return { enabled: true, stop: () => provider.shutdown() };
}
