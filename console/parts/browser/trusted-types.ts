import { assetAddress } from './address.ts'

/** The only Trusted Types policy: scripts come from files of this build, and no text becomes markup or code. */
export function guardSinks(): void {
  const { trustedTypes } = window as unknown as { trustedTypes?: TrustedTypes }
  trustedTypes?.createPolicy('default', {
    createScriptURL: (text) => {
      const { href } = new URL(text, location.href)
      if (href.startsWith(assetAddress('./'))) return href
      throw new TypeError(`Not a script of the console: ${text}`)
    },
  })
}

/** The part used here. TypeScript's library does not declare it yet. */
type TrustedTypes = Readonly<{
  createPolicy: (name: string, rules: Readonly<{ createScriptURL: (text: string) => string }>) => unknown
}>
