declare module '*.css'
declare module 'worker:*' {
  /** Where the built worker lies, seen from the file that imports it: give it to workerAddress(). */
  const address: string
  export default address
}
