export type Check = Readonly<{
  name: string
  status: 'ok' | 'warn' | 'fail'
  /** What was seen, and what to do where it is not well. */
  advice: string
}>
