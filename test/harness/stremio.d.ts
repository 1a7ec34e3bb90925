// The two packages have no types. These are the parts that the tests use.

declare module 'stremio-addon-linter' {
  interface Lint {
    readonly valid: boolean;
    readonly errors: readonly Error[];
    readonly warnings: readonly Error[];
  }
  const linter: { lintManifest(manifest: unknown): Lint };
  export default linter;
}

declare module 'stremio-addon-client' {
  export interface StremioAddon {
    readonly manifest: Readonly<Record<string, unknown>>;
    readonly transportUrl: string;
    isSupported(resource: string, type: string, id: string): boolean;
    get<T>(resource: string, type: string, id: string, extra?: Readonly<Record<string, unknown>>): Promise<T>;
  }
  const client: { detectFromURL(url: string): Promise<{ readonly addon: StremioAddon }> };
  export default client;
}
