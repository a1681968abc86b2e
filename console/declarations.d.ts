declare module '*.css'
declare module 'worker:*' {
  /** Where the built worker lies, seen from the file that imports it: give it to assetAddress(). */
  const address: string
  export default address
}
declare module 'basemap:world' {
  /** Where the file of the countries lies, a topology: give it to assetAddress(). */
  const address: string
  export default address
}
declare module 'topojson-client' {
  type Topology = Readonly<{ objects: Readonly<Record<string, unknown>> }>
  /** As GeoJSON. */
  export function feature(topology: Topology, object: unknown): object
}
