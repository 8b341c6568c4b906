/** Shows the payment method in WooCommerce's checkout of blocks. Everything it needs is WooCommerce's and WordPress's own. */
(() => {
  const { registerPaymentMethod } = window.wc.wcBlocksRegistry;
  const { createElement } = window.wp.element;
  const { decodeEntities } = window.wp.htmlEntities;
  const data = window.wc.wcSettings.getSetting('countinghouse_data', {});
  const title = decodeEntities(data.title || 'Cryptocurrency');
  const content = createElement('div', null, decodeEntities(data.description || ''));
  registerPaymentMethod({
    name: 'countinghouse',
    label: createElement('span', null, title),
    ariaLabel: title,
    content,
    edit: content,
    canMakePayment: () => true,
    supports: { features: data.supports || ['products'] },
  });
})();
