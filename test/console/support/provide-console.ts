/** For the tests that are run while somebody works on console/: `npm test` has built it. */
export async function provideConsole(): Promise<void> {
  const script: { provideConsole: () => Promise<void> } = await import(
    String(new URL('../../../scripts/build-console.mjs', import.meta.url))
  )
  await script.provideConsole()
}
