<?php
/**
 * Plugin Name: Stand-in for WooCommerce
 *
 * What the gateway uses of WooCommerce, which Debian does not have: as small as it can be, and by WooCommerce's
 * documentation. It is not WooCommerce: what runs against it has not been run against WooCommerce. Orders lie in WordPress's
 * options. Routes below stand-in/v1 let a test do what a customer and a shop's own pages do.
 */

defined( 'ABSPATH' ) || exit;

abstract class WC_Settings_API {
	public $id          = '';
	public $form_fields = array();
	public $settings    = array();

	public function init_settings() {
		$defaults       = array_map( static fn( $field ) => $field['default'] ?? '', $this->form_fields );
		$this->settings = array_merge( $defaults, get_option( $this->get_option_key(), array() ) );
	}

	public function get_option_key() {
		return 'woocommerce_' . $this->id . '_settings';
	}

	public function get_option( $key ) {
		return $this->settings[ $key ] ?? '';
	}

	public function process_admin_options() {
		$this->init_settings();
		foreach ( $this->form_fields as $key => $field ) {
			$value = wp_unslash( $_POST[ 'woocommerce_' . $this->id . '_' . $key ] ?? '' );
			$own   = array( $this, "validate_{$key}_field" );
			if ( is_callable( $own ) ) {
				$value = $own( $key, $value );
			} elseif ( 'checkbox' === $field['type'] ) {
				$value = '' === $value ? 'no' : 'yes';
			} else {
				$value = wp_kses_post( trim( $value ) );
			}
			$this->settings[ $key ] = $value;
		}
		return update_option( $this->get_option_key(), $this->settings );
	}

	public function admin_options() {
		echo '<h2>' . esc_html( $this->method_title ) . '</h2>';
		foreach ( $this->form_fields as $key => $field ) {
			printf( '<label>%s <input name="woocommerce_%s_%s" value="%s"></label>', esc_html( $field['title'] ), esc_attr( $this->id ), esc_attr( $key ), esc_attr( $this->get_option( $key ) ) );
		}
	}
}

abstract class WC_Payment_Gateway extends WC_Settings_API {
	public $enabled = 'yes';
	public $title;
	public $description;
	public $has_fields;
	public $method_title;
	public $method_description;
	public $supports = array( 'products' );

	public function init_settings() {
		parent::init_settings();
		$this->enabled = 'yes' === ( $this->settings['enabled'] ?? '' ) ? 'yes' : 'no';
	}

	public function is_available() {
		return 'yes' === $this->enabled;
	}

	public function get_return_url( $order ) {
		return home_url( '/?order-received=' . $order->get_id() . '&key=' . $order->get_order_key() );
	}
}

class WC_Admin_Settings {
	public static $errors = array();

	public static function add_error( $text ) {
		self::$errors[] = $text;
	}
}

class WC_Order {
	private $data;
	/** What was set since the order was read: only that is saved, as in WooCommerce. */
	private $changes    = array();
	private $meta       = array();
	private $transition = null;

	public function __construct( array $data ) {
		$this->data = $data;
	}

	public function get_id() {
		return $this->data['id'];
	}

	public function get_order_number() {
		return (string) $this->data['id'];
	}

	public function get_order_key() {
		return 'wc_order_' . $this->data['id'];
	}

	public function get_total() {
		return $this->data['total'];
	}

	public function set_total( $total ) {
		$this->set( 'total', $total );
	}

	public function get_currency() {
		return $this->data['currency'];
	}

	public function set_currency( $currency ) {
		$this->set( 'currency', $currency );
	}

	public function get_payment_method() {
		return $this->data['payment_method'];
	}

	public function get_status() {
		return $this->data['status'];
	}

	public function has_status( $status ) {
		return in_array( $this->data['status'], (array) $status, true );
	}

	public function is_paid() {
		return $this->has_status( array( 'processing', 'completed' ) );
	}

	public function get_meta( $key ) {
		return $this->data['meta'][ $key ] ?? '';
	}

	private function set( $name, $value ) {
		$this->changes[ $name ] = $value;
		$this->data[ $name ]    = $value;
	}

	public function update_meta_data( $key, $value ) {
		$this->meta[ $key ]         = $value;
		$this->data['meta'][ $key ] = $value;
	}

	public function delete_meta_data( $key ) {
		$this->update_meta_data( $key, '' );
	}

	/** The change is told when the order is saved. */
	public function set_status( $status ) {
		if ( $status !== $this->data['status'] ) {
			$this->transition = $status;
			$this->set( 'status', $status );
		}
	}

	public function update_status( $status ) {
		$this->set_status( $status );
		$this->save();
		return true;
	}

	public function payment_complete( $transaction_id = '' ) {
		if ( $this->has_status( array( 'on-hold', 'pending', 'failed', 'cancelled' ) ) ) {
			$this->set( 'transaction_id', $transaction_id );
			$this->set( 'completed', $this->data['completed'] + 1 );
			$this->set_status( 'processing' );
			$this->save();
		}
		return true;
	}

	public function add_order_note( $note ) {
		$name = 'stand_in_notes_' . $this->get_id();
		update_option( $name, array_merge( get_option( $name, array() ), array( $note ) ), false );
		return 1;
	}

	public function get_edit_order_url() {
		return admin_url( 'admin.php?page=wc-orders&id=' . $this->get_id() );
	}

	public function save() {
		global $wpdb;
		$name = 'stand_in_order_' . $this->get_id();
		$wpdb->get_var( $wpdb->prepare( 'SELECT GET_LOCK(%s, 10)', $name ) );
		wp_cache_delete( $name, 'options' );
		$stored         = array_merge( get_option( $name, $this->data ), $this->changes );
		$stored['meta'] = array_merge( $stored['meta'], $this->meta );
		update_option( $name, $stored, false );
		$wpdb->get_var( $wpdb->prepare( 'SELECT RELEASE_LOCK(%s)', $name ) );
		$this->changes    = array();
		$this->meta       = array();
		$to               = $this->transition;
		$this->transition = null;
		if ( null !== $to ) {
			do_action( 'woocommerce_order_status_' . $to, $this->get_id(), $this );
		}
		return $this->get_id();
	}

	public function data() {
		return $this->data + array( 'notes' => get_option( 'stand_in_notes_' . $this->get_id(), array() ) );
	}
}

function wc_get_order( $id ) {
	wp_cache_delete( 'stand_in_order_' . $id, 'options' );
	wp_cache_delete( 'stand_in_notes_' . $id, 'options' );
	$data = get_option( 'stand_in_order_' . $id );
	return is_array( $data ) ? new WC_Order( $data ) : false;
}

function wc_get_logger() {
	return new class() {
		public function error( $message ) {
			update_option( 'stand_in_log', array_merge( get_option( 'stand_in_log', array() ), array( $message ) ), false );
		}
	};
}

function wc_add_notice( $text, $kind ) {
	$GLOBALS['stand_in_notices'][] = array( $kind, $text );
}

function wc_get_page_screen_id( $for ) {
	return 'toplevel_page_wc-orders';
}

function stand_in_gateway() {
	static $gateway;
	if ( ! $gateway ) {
		$classes = apply_filters( 'woocommerce_payment_gateways', array() );
		$gateway = new $classes[0]();
	}
	return $gateway;
}

/** What the tests read of an order. */
function stand_in_answer( $order ) {
	return $order->data() + array( 'may_be_canceled' => apply_filters( 'woocommerce_cancel_unpaid_order', true, $order ) );
}

function stand_in_create( $request ) {
	$number = (int) get_option( 'stand_in_orders', 10 ) + 1;
	update_option( 'stand_in_orders', $number, false );
	$order = new WC_Order(
		array(
			'id'             => $number,
			'total'          => $request['total'],
			'currency'       => $request['currency'],
			'payment_method' => 'countinghouse',
			'status'         => 'pending',
			'completed'      => 0,
			'meta'           => array(),
		)
	);
	$order->save();
	return stand_in_answer( $order );
}

function stand_in_change( $request ) {
	$order = wc_get_order( $request['id'] );
	if ( isset( $request['total'] ) ) {
		$order->set_total( $request['total'] );
	}
	if ( isset( $request['currency'] ) ) {
		$order->set_currency( $request['currency'] );
	}
	if ( isset( $request['status'] ) ) {
		$order->set_status( $request['status'] );
	}
	$order->save();
	if ( isset( $request['action'] ) ) {
		do_action( 'woocommerce_order_action_' . $request['action'], wc_get_order( $request['id'] ) );
	}
	return stand_in_answer( wc_get_order( $request['id'] ) );
}

add_action(
	'rest_api_init',
	static function () {
		$routes = array(
			'/orders'                => array( 'POST', 'stand_in_create' ),
			'/orders/(?P<id>\d+)'    => array( 'GET', static fn( $request ) => stand_in_answer( wc_get_order( $request['id'] ) ) ),
			'/change/(?P<id>\d+)'    => array( 'POST', 'stand_in_change' ),
			'/checkout/(?P<id>\d+)'  => array(
				'POST',
				static fn( $request ) => array(
					'answer'  => stand_in_gateway()->process_payment( $request['id'] ),
					'notices' => $GLOBALS['stand_in_notices'] ?? array(),
				),
			),
			'/gateway'               => array(
				'GET',
				static fn() => array(
					'available' => stand_in_gateway()->is_available(),
					'log'       => get_option( 'stand_in_log', array() ),
				),
			),
		);
		foreach ( $routes as $path => list( $method, $callback ) ) {
			register_rest_route(
				'stand-in/v1',
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

add_filter(
	'user_has_cap',
	static fn( $all ) => $all + array( 'edit_shop_orders' => ! empty( $all['manage_options'] ) )
);

add_action(
	'admin_menu',
	static function () {
		add_menu_page( 'Settings', 'Settings', 'manage_options', 'wc-settings', 'stand_in_settings' );
		add_menu_page( 'Order', 'Order', 'edit_shop_orders', 'wc-orders', 'stand_in_order_screen' );
	}
);

function stand_in_settings() {
	$gateway = stand_in_gateway();
	if ( isset( $_POST['save'] ) && check_admin_referer( 'stand-in-settings' ) ) {
		do_action( 'woocommerce_update_options_payment_gateways_' . $gateway->id );
	}
	foreach ( WC_Admin_Settings::$errors as $error ) {
		printf( '<div class="error">%s</div>', esc_html( $error ) );
	}
	echo '<form method="post">';
	wp_nonce_field( 'stand-in-settings' );
	$gateway->admin_options();
	echo '<button name="save" value="1">Save</button></form>';
}

function stand_in_order_screen() {
	$order = wc_get_order( absint( $_GET['id'] ?? 0 ) );
	do_action( 'add_meta_boxes', wc_get_page_screen_id( 'shop-order' ), $order );
	do_meta_boxes( wc_get_page_screen_id( 'shop-order' ), 'side', $order );
}
