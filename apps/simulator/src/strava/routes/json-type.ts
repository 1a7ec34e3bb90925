/** For bodies that are JSON text already. */
export const JSON_TYPE = 'application/json; charset=utf-8';
