import { build } from 'esbuild'

/** The client as a script that defines the global `Cartage`. */
export async function bundleClient(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ['src/client/browser-client.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'Cartage',
    platform: 'browser',
  })
  // The test compiler adds calls of __name to functions that are sent to the page.
  return `${outputFiles[0]!.text}\nglobalThis.__name = (value) => value`
}
