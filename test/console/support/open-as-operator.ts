import type { TestContext } from 'node:test'
import { type OpenedConsole, openConsole } from './open-console.ts'

/** The console that this service serves, signed in with its admin token. */
export async function openAsOperator(
  t: TestContext,
  url: string,
  adminToken: string,
): Promise<OpenedConsole> {
  const opened = await openConsole(t, { servedAt: async () => url })
  const { page, goTo } = opened
  await goTo('/')
  await page.getByRole('tab', { name: 'As operator' }).click()
  await page.getByLabel('Admin token').fill(adminToken)
  await page.getByRole('button', { name: 'Sign in as operator' }).click()
  await page.getByRole('navigation', { name: 'Operator' }).waitFor()
  return opened
}
