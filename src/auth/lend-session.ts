import type { Session } from '../postgres/session.ts'
import type { Principal } from './account.ts'

/** Waits for a connection, and passes it on if the caller's key is still valid by then. */
export async function lendSession(principal: Principal, free: Promise<Session>): Promise<Session> {
  const session = await free.catch(async (error: unknown) => {
    // The role of a deleted key cannot log in; that the key is gone says more.
    await principal.confirm()
    throw error
  })
  try {
    await principal.confirm()
    return session
  } catch (error) {
    session.release()
    throw error
  }
}
