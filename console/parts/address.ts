/** Where the service is: the console lies under it, at `console/assets/`, also behind a proxy that adds a path. */
export const serviceAddress = new URL('../..', import.meta.url).href.replace(/\/$/, '')

/** The same without the origin: `` or `/some/path`. */
export const servicePath = new URL(serviceAddress).pathname.replace(/\/$/, '')

/** The address of a file that the build has made; see `worker:` in declarations.d.ts. */
export const assetAddress = (name: string) => new URL(name, import.meta.url).href
