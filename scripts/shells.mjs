import { provideIfPossible } from './apt.mjs'

/** The shells in which completion is tested beside bash. */
export async function provideShells() {
  for (const shell of ['zsh', 'fish']) await provideIfPossible(shell, shell, [shell])
}
