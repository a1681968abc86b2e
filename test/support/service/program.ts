import { fileURLToPath } from 'node:url'
import { scriptArgs } from './script.ts'

/**
 * What Node runs as `cartage`: dist/ if it was built from the current sources, which `npm test` ensures; else the
 * sources.
 */
export const program: readonly string[] = (await isBuilt())
  ? [pathOf('../../../bin/cartage.mjs')]
  : scriptArgs('test/support/service/cartage.ts')

/** The command line for people: always the built file, which takes a moment to build. */
export const userProgram = await provideCli()

async function provideCli(): Promise<string> {
  const build = (await import('../../../scripts/build-cli.mjs' as string)) as {
    provideCli: () => Promise<void>
  }
  await build.provideCli()
  return pathOf('../../../dist/cartage-cli.mjs')
}

async function isBuilt(): Promise<boolean> {
  const build = (await import('../../../scripts/build.mjs' as string)) as { isBuilt: () => boolean }
  return build.isBuilt()
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
