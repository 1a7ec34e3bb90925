// Node loads this file before a built process (`NODE_OPTIONS=--import`). The query of its URL names a class of the product that then cannot
// be made, or that throws while it starts.
import 'reflect-metadata';

const query = new URL(import.meta.url).searchParams;
const listener = (await import(new URL(`../../dist/${query.get('file')}.js`, import.meta.url).href))[
  query.get('name')
];

class Missing {}

if (query.get('fails') === 'made') {
  Reflect.defineMetadata('design:paramtypes', [Missing], listener);
  // The tokens of @Inject.
  Reflect.defineMetadata('self:paramtypes', [{ index: 0, param: Missing }], listener);
} else
  listener.prototype.onModuleInit = () => {
    throw new Error('This listener cannot start.');
  };
