<?php
/**
 * Plugin Name: Countinghouse for WooCommerce
 * Description: Take cryptocurrency through your own Countinghouse: payers are sent to its payment page, and signed events move the order on.
 * Version: 1.2.0
 * Requires at least: 6.1
 * Requires PHP: 7.4
 * Requires Plugins: woocommerce
 * WC requires at least: 7.1
 * License: MIT
 * License URI: https://opensource.org/license/mit
 * Text Domain: countinghouse
 */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

const FILE = __FILE__;

require_once __DIR__ . '/includes/failure.php';
require_once __DIR__ . '/includes/settings.php';
require_once __DIR__ . '/includes/client.php';
require_once __DIR__ . '/includes/signature.php';
require_once __DIR__ . '/includes/payer.php';
require_once __DIR__ . '/includes/orders.php';
require_once __DIR__ . '/includes/watch.php';
require_once __DIR__ . '/includes/events.php';
require_once __DIR__ . '/includes/refunds.php';

register_deactivation_hook( FILE, array( Watch::class, 'end' ) );

add_action(
	'before_woocommerce_init',
	static function () {
		if ( ! class_exists( '\Automattic\WooCommerce\Utilities\FeaturesUtil' ) ) {
			return;
		}
		foreach ( array( 'custom_order_tables', 'cart_checkout_blocks' ) as $feature ) {
			\Automattic\WooCommerce\Utilities\FeaturesUtil::declare_compatibility( $feature, FILE, true );
		}
	}
);

add_action(
	'woocommerce_blocks_payment_method_type_registration',
	static function ( $registry ) {
		require_once __DIR__ . '/includes/blocks.php';
		$registry->register( new Blocks() );
	}
);

add_action(
	'plugins_loaded',
	static function () {
		if ( ! class_exists( '\WC_Payment_Gateway' ) ) {
			add_action( 'admin_notices', __NAMESPACE__ . '\ask_for_woocommerce' );
			return;
		}
		require_once __DIR__ . '/includes/gateway.php';
		add_filter(
			'woocommerce_payment_gateways',
			static function ( $gateways ) {
				$gateways[] = Gateway::class;
				return $gateways;
			}
		);
		Orders::listen();
		Payer::listen();
		Watch::listen();
		Events::listen();
		Refunds::listen();
		if ( '' !== Settings::api_key() && false === get_option( Settings::SITE ) ) {
			// the settings were saved with a former version
			Settings::keep_site();
		}
		add_action( 'admin_notices', __NAMESPACE__ . '\tell_of_copy' );
	}
);

function tell_of_copy(): void {
	if ( current_user_can( 'manage_woocommerce' ) && Settings::is_copy() ) {
		$text = __( 'Countinghouse: this shop has another address than the one that its settings were saved in. As for a copy, orders are not looked at every hour, and no invoice is ended and no refund is asked for from here. If the shop has moved, save the settings of Countinghouse, and change the address of its endpoint where the service runs. In a copy for tests, enter a key of the sandbox.', 'countinghouse' );
		printf( '<div class="notice notice-warning"><p>%s</p></div>', esc_html( $text ) );
	}
}

function ask_for_woocommerce(): void {
	if ( current_user_can( 'activate_plugins' ) ) {
		$text = __( 'Countinghouse for WooCommerce does nothing until WooCommerce is active.', 'countinghouse' );
		printf( '<div class="notice notice-warning"><p>%s</p></div>', esc_html( $text ) );
	}
}
