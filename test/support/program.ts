import { fileURLToPath } from 'node:url'

/**
 * What Node runs as `cartage`: dist/ if it was made from the sources as they are now, which `npm test` sees to; else the
 * sources, which take two seconds longer to start.
 */
export const program: readonly string[] = (await isBuilt())
  ? [pathOf('../../bin/cartage.mjs')]
  : ['--import', 'tsx', pathOf('./cartage.ts')]

async function isBuilt(): Promise<boolean> {
  const build = (await import('../../scripts/build.mjs' as string)) as { isBuilt: () => boolean }
  return build.isBuilt()
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
