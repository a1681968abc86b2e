/** Types of the messages that a server sends in answer to a query. */
export const messages = {
  parseComplete: 0x31,
  parameterDescription: 0x74,
  rowDescription: 0x54,
  dataRow: 0x44,
  commandComplete: 0x43,
  error: 0x45,
  notice: 0x4e,
  copyOutResponse: 0x48,
  copyInResponse: 0x47,
  copyData: 0x64,
  parameterStatus: 0x53,
  readyForQuery: 0x5a,
  /** Not part of the protocol: a row that was cut short. */
  cutRow: 0,
} as const
