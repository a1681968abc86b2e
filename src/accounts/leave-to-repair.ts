import type { Installation } from '../hosts/installation.ts'
import { isBusy } from '../postgres/sqlstate.ts'

/** The account is closed already; what another tenant holds of it is removed in the background, and nobody waits. */
export async function leavingToRepair({ log }: Installation, removal: Promise<void>): Promise<void> {
  await removal.catch((error: unknown) => {
    if (!isBusy(error)) throw error
    log.warn({ err: error }, 'the rest of an account is left to repair')
  })
}
