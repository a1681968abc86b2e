import { provideIfPossible } from './apt.mjs'

/** The second browser in which the console is tested. */
export const provideFirefox = () => provideIfPossible('Firefox', 'firefox-esr', ['firefox-esr'])
