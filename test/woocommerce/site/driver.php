<?php
/**
 * Routes with which a test does what a customer and a shop's own pages do. They call WooCommerce's functions alone, so they
 * serve the real one and its stand-in.
 */

defined( 'ABSPATH' ) || exit;

add_filter(
	'woocommerce_logger_log_message',
	static function ( $message, $level, $context ) {
		// WooCommerce writes lines of its own, such as of requests that this shop may not make
		if ( 'error' === $level && 'countinghouse' === ( $context['source'] ?? '' ) ) {
			update_option( 'driver_log', array_merge( get_option( 'driver_log', array() ), array( $message ) ), false );
		}
		return $message;
	},
	10,
	3
);

if ( 'posts' === getenv( 'COUNTINGHOUSE_TEST_ORDERS' ) ) {
	add_filter( 'pre_option_woocommerce_custom_orders_table_enabled', static fn() => 'no' );
}

// emails are kept and not sent
add_filter(
	'pre_wp_mail',
	static function ( $sent, $mail ) {
		$kept = array(
			'to'      => $mail['to'],
			'subject' => $mail['subject'],
			'text'    => $mail['message'],
		);
		update_option( 'driver_mails', array_merge( get_option( 'driver_mails', array() ), array( $kept ) ), false );
		return true;
	},
	10,
	2
);

add_action(
	'woocommerce_payment_complete',
	static function ( $id ) {
		update_option( 'driver_completed_' . $id, 1 + (int) get_option( 'driver_completed_' . $id, 0 ), false );
	}
);

function driver_gateway() {
	if ( function_exists( 'wc_load_cart' ) && ! WC()->session ) {
		wc_load_cart();
	}
	return WC()->payment_gateways()->payment_gateways()['countinghouse'];
}

/** What the tests read of an order. */
function driver_answer( $id ) {
	$order = wc_get_order( $id );
	return array_filter(
		array(
			'id'             => $order->get_id(),
			'status'         => $order->get_status(),
			'completed'      => (int) get_option( 'driver_completed_' . $id, 0 ),
			'transaction_id' => '' === $order->get_transaction_id() ? null : $order->get_transaction_id(),
			'notes'          => array_column( wc_get_order_notes( array( 'order_id' => $id ) ), 'content' ),
			'refunds'        => array_map( static fn( $refund ) => $refund->get_amount(), $order->get_refunds() ),
			'needs_payment'  => $order->needs_payment(),
			'pay_url'        => wc_get_account_orders_actions( $order )['pay']['url'] ?? null,
			'received_url'   => $order->get_checkout_order_received_url(),
			'edit_url'       => $order->get_edit_order_url(),
		),
		static fn( $value ) => null !== $value
	);
}

function driver_create( $request ) {
	$order = wc_create_order();
	if ( class_exists( 'WC_Product_Simple' ) ) {
		// an order of nothing would be completed when it is paid
		$product = new WC_Product_Simple();
		$product->set_name( 'A loaf' );
		$product->set_regular_price( '1' );
		$product->save();
		$order->add_product( $product );
	}
	$order->set_total( $request['total'] );
	$order->set_currency( $request['currency'] );
	$order->set_payment_method( 'countinghouse' );
	$order->set_billing_email( 'payer@example.com' );
	$order->save();
	return driver_answer( $order->get_id() );
}

function driver_change( $request ) {
	$order = wc_get_order( $request['id'] );
	if ( isset( $request['total'] ) ) {
		$order->set_total( $request['total'] );
	}
	if ( isset( $request['currency'] ) ) {
		$order->set_currency( $request['currency'] );
	}
	if ( isset( $request['method'] ) ) {
		$order->set_payment_method( $request['method'] );
	}
	if ( isset( $request['status'] ) ) {
		$order->set_status( $request['status'] );
	}
	$order->save();
	if ( isset( $request['action'] ) ) {
		do_action( 'woocommerce_order_action_' . $request['action'], wc_get_order( $request['id'] ) );
	}
	return driver_answer( $request['id'] );
}

function driver_checkout( $request ) {
	$gateway = driver_gateway();
	$answer  = $gateway->process_payment( $request['id'] );
	$notices = array();
	foreach ( wc_get_notices() as $kind => $all ) {
		foreach ( $all as $notice ) {
			$notices[] = array( $kind, $notice['notice'] );
		}
	}
	wc_clear_notices();
	return array(
		'answer'  => $answer,
		'notices' => $notices,
	);
}

/** Whether the method is offered for an order, as on the page that pays one. */
function driver_offered( $request ) {
	$gateway = driver_gateway();
	set_query_var( 'order-pay', $request['id'] );
	return array( 'available' => $gateway->is_available() );
}

/** What the customer's page of an order shows of its payment. */
function driver_order_page( $request ) {
	ob_start();
	do_action( 'woocommerce_view_order', (int) $request['id'] );
	return array( 'html' => ob_get_clean() );
}

add_action(
	'rest_api_init',
	static function () {
		$routes = array(
			'/orders'               => array( 'POST', 'driver_create' ),
			'/orders/(?P<id>\d+)'   => array( 'GET', static fn( $request ) => driver_answer( $request['id'] ) ),
			'/change/(?P<id>\d+)'   => array( 'POST', 'driver_change' ),
			'/checkout/(?P<id>\d+)' => array( 'POST', 'driver_checkout' ),
			'/offered/(?P<id>\d+)'  => array( 'GET', 'driver_offered' ),
			'/page/(?P<id>\d+)'     => array( 'GET', 'driver_order_page' ),
			'/mails'                => array( 'GET', static fn() => get_option( 'driver_mails', array() ) ),
			'/held/(?P<id>\d+)'     => array(
				'GET',
				static fn( $request ) => array( 'may_be_canceled' => apply_filters( 'woocommerce_cancel_unpaid_order', true, wc_get_order( $request['id'] ) ) ),
			),
			'/gateway'              => array(
				'GET',
				static fn() => array(
					'available' => driver_gateway()->is_available(),
					'log'       => get_option( 'driver_log', array() ),
				),
			),
		);
		foreach ( $routes as $path => list( $method, $callback ) ) {
			register_rest_route(
				'driver/v1',
				$path,
				array(
					'methods'             => $method,
					'callback'            => $callback,
					'permission_callback' => '__return_true',
				)
			);
		}
	}
);
