const { operations } = require('../description.gen.json');

/** Address of a service and a key: its rights bound what a workflow can do. */
class RookeryApi {
  name = 'rookeryApi';
  displayName = 'Rookery API';
  icon = { light: 'file:../icons/rookery.svg', dark: 'file:../icons/rookery.dark.svg' };
  properties = [
    {
      displayName: 'Address of the Service',
      name: 'url',
      type: 'string',
      default: '',
      placeholder: 'https://app.example.com/api',
      required: true,
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      description: 'Make one in the settings of your account',
    },
  ];
  authenticate = { type: 'generic', properties: { headers: { Authorization: '={{$credentials.apiKey}}' } } };
  test = {
    request: {
      method: operations.getMe.method,
      baseURL: '={{$credentials.url.replace(/\\/+$/, "")}}',
      url: operations.getMe.path,
    },
  };
}
module.exports = { RookeryApi };
