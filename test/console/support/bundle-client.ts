import { build } from 'esbuild'

/** The client as a script for a page, where it is `Cartage`. */
export async function bundleClient(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ['src/client/browser-client.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'Cartage',
    platform: 'browser',
  })
  // What runs the tests marks the functions that are sent to the page.
  return `${outputFiles[0]!.text}\nglobalThis.__name = (value) => value`
}
