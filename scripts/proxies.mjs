import { provideIfPossible } from './apt.mjs'

/** The proxies for which deploy/ has a configuration. */
export async function provideProxies() {
  await provideIfPossible('nginx', 'nginx', ['nginx-light'], '-v')
  await provideIfPossible('Caddy', 'caddy', ['caddy'], 'version')
}
