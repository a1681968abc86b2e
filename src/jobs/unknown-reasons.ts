/** Why nobody can tell whether a statement happened. */
export const outcomeTooOld =
  'The outcome of the statement is not known: PostgreSQL no longer remembers its transaction'

export const outcomeUnknowable =
  'The outcome of the statement is not known: it cannot run inside a transaction, and its connection was lost while it ran'

export const outcomeForeign =
  'The outcome of the statement is not known: its host was restored from a dump, which tells nothing of transactions'
