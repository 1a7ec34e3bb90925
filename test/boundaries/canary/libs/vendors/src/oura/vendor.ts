export const oura = 'oura';
