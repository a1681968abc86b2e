/** The encodings a person can choose, with the names by which browsers know them. None has a comma in another character. */
export const encodings = {
  UTF8: 'utf-8',
  WIN1252: 'windows-1252',
  LATIN1: 'iso-8859-1',
  WIN1250: 'windows-1250',
  WIN1251: 'windows-1251',
  WIN1253: 'windows-1253',
  WIN1254: 'windows-1254',
  KOI8R: 'koi8-r',
  SJIS: 'shift_jis',
  GBK: 'gbk',
  BIG5: 'big5',
  UHC: 'euc-kr',
} as const
export type Encoding = keyof typeof encodings
