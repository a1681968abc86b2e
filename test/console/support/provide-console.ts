/** Builds the console if it has changed since `npm test` built it. */
export async function provideConsole(): Promise<void> {
  const script: { provideConsole: () => Promise<void> } = await import(
    String(new URL('../../../scripts/build-console.mjs', import.meta.url))
  )
  await script.provideConsole()
}
