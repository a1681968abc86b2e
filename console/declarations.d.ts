declare module '*.css'
declare module 'worker:*' {
  /** The path of the built worker, relative to the importing file. Pass it to assetAddress(). */
  const address: string
  export default address
}
declare module 'geodata:world' {
  /** The path of the TopoJSON file of the countries. Pass it to assetAddress(). */
  const address: string
  export default address
}
declare module 'geodata:places' {
  /** The path of the JSON file of names, lakes and rivers. Pass it to assetAddress(). */
  const address: string
  export default address
}
declare module 'geodata:countries' {
  /** The path of the GeoJSON file of the sample data. Pass it to assetAddress(). */
  const address: string
  export default address
}
declare module 'guide:pages' {
  /** The pages of the documentation for users, as Markdown, by their names. */
  const pages: Readonly<Record<string, string>>
  export default pages
}
declare module 'topojson-client' {
  type Topology = Readonly<{ objects: Readonly<Record<string, unknown>> }>
  /** Returns the object as GeoJSON. */
  export function feature(topology: Topology, object: unknown): object
}
