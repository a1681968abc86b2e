/** The URL of the service. The console is at `console/assets/` under it, also behind a proxy that adds a path. */
export const serviceAddress = new URL('../../..', import.meta.url).href.replace(/\/$/, '')

/** The path of the service: empty, or such as `/some/path`. */
export const servicePath = new URL(serviceAddress).pathname.replace(/\/$/, '')

/** The URL of a file of the build; see `worker:` in declarations.d.ts. */
export const assetAddress = (name: string) => new URL(name, import.meta.url).href
