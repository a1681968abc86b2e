import { provideIfPossible } from './apt.mjs'

/** The shells besides bash in which completion is tested. */
export async function provideShells() {
  for (const shell of ['zsh', 'fish']) await provideIfPossible(shell, shell, [shell])
}
