/** What the person set; an empty variable counts as not set. */
export const given = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''));
