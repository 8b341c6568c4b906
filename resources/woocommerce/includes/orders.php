<?php
/**
 * What an invoice says about its order. An order is marked paid only here, and only when the invoice is one of the order's
 * own, is paid, and has the amount and the currency that the order has now.
 */

namespace Countinghouse;

use Automattic\WooCommerce\Caches\OrderCache;

defined( 'ABSPATH' ) || exit;

final class Orders {
	/** The key of an invoice's metadata that holds the order's number in the database. */
	public const METADATA = 'woocommerce_order';

	/** The invoice that the payer is sent to. */
	public const INVOICE = '_countinghouse_invoice';
	/** All invoices of the order, oldest first. */
	public const INVOICES = '_countinghouse_invoices';
	/** The last that was heard of the present invoice: new, requested, seen, overdue, paid, undone or canceled. */
	public const STATE = '_countinghouse_state';
	/** The invoice that paid the order. */
	public const PAID_BY = '_countinghouse_paid_by';
	/** The order's status before a reorganisation undid its payment. */
	private const BEFORE_UNDONE = '_countinghouse_before_undone';
	/** What was told in a note already: nothing is told twice. */
	private const TOLD = '_countinghouse_told';

	/** All that is noted of invoices. */
	private const NOTED = array( self::INVOICE, self::INVOICES, self::STATE, self::PAID_BY, self::BEFORE_UNDONE, self::TOLD, Payer::PAYMENT, Refunds::BOOKED, Refunds::SENT_BACK );

	private const TOLD_MAX     = 50;
	private const LOCK_SECONDS = 10;
	private const DECIMALS_MAX = 4;
	/** An amount of an invoice has two decimals at most, and in these currencies none (ISO 4217). */
	private const NO_DECIMALS = array( 'BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'VND', 'VUV', 'XAF', 'XOF', 'XPF' );

	public static function listen(): void {
		add_action( 'woocommerce_order_status_cancelled', array( self::class, 'drop_invoice' ), 10, 2 );
		add_filter( 'woocommerce_order_actions', array( self::class, 'add_action' ) );
		add_action( 'woocommerce_order_action_countinghouse_refresh', array( self::class, 'refresh_now' ) );
	}

	/** A decimal as one spelling: "20", "19.9". */
	public static function decimal( $number ): string {
		$text = number_format( (float) $number, self::DECIMALS_MAX, '.', '' );
		return rtrim( rtrim( $text, '0' ), '.' );
	}

	/**
	 * What an invoice asks for an order: its total, rounded up to the decimals that an invoice's amount has. The only place
	 * that rounds: 19.999 KWD is asked for as 20.
	 */
	public static function asked( \WC_Order $order ): string {
		$decimals                 = in_array( $order->get_currency(), self::NO_DECIMALS, true ) ? 0 : 2;
		list( $whole, $fraction ) = explode( '.', self::decimal( $order->get_total() ) . '.', 3 );
		$fraction                 = str_pad( $fraction, self::DECIMALS_MAX, '0' );
		$units                    = (int) ( $whole . substr( $fraction, 0, $decimals ) );
		if ( '' !== trim( substr( $fraction, $decimals ), '0' ) ) {
			++$units;
		}
		$digits = str_pad( (string) $units, $decimals + 1, '0', STR_PAD_LEFT );
		return self::decimal( substr( $digits, 0, strlen( $digits ) - $decimals ) . '.' . substr( $digits, strlen( $digits ) - $decimals ) . '0' );
	}

	/** Whether an invoice asks for what the order costs now. */
	public static function matches( \WC_Order $order, array $invoice ): bool {
		return $invoice['currency'] === $order->get_currency()
			&& self::decimal( $invoice['amount'] ) === self::asked( $order );
	}

	/** Does `$work` with the order as it is stored, while nobody else does the same. Throws Failure when it is busy for long. */
	public static function alone( int $order_id, callable $work ) {
		global $wpdb;
		$name = substr( md5( DB_NAME . $wpdb->prefix ), 0, 12 ) . '-countinghouse-' . $order_id;
		if ( '0' === $wpdb->get_var( $wpdb->prepare( 'SELECT GET_LOCK(%s, %d)', $name, self::LOCK_SECONDS ) ) ) {
			throw new Failure( __( 'The order is being worked on. Try again.', 'countinghouse' ), Failure::BUSY );
		}
		try {
			self::forget_read( $order_id );
			$order = wc_get_order( $order_id );
			return $order instanceof \WC_Order ? $work( $order ) : null;
		} finally {
			$wpdb->get_var( $wpdb->prepare( 'SELECT RELEASE_LOCK(%s)', $name ) );
		}
	}

	/** What was read of an order before the lock was had may be old, be it a post or of tables of its own (HPOS). */
	private static function forget_read( int $order_id ): void {
		clean_post_cache( $order_id );
		// WooCommerce keeps what is noted of a post in a cache of its own
		if ( is_callable( array( \WC_Order::class, 'generate_meta_cache_key' ) ) ) {
			wp_cache_delete( \WC_Order::generate_meta_cache_key( $order_id, 'orders' ), 'orders' );
		}
		if ( class_exists( OrderCache::class ) ) {
			wc_get_container()->get( OrderCache::class )->remove( $order_id );
		}
		$store = \WC_Data_Store::load( 'order' );
		if ( $store->has_callable( 'clear_cached_data' ) ) {
			$store->clear_cached_data( array( $order_id ) );
		}
	}

	/**
	 * Whether an invoice was made for this order. A copy of an order, such as the renewal of a subscription, has all that was noted
	 * of the invoice of the other one.
	 */
	public static function is_of( \WC_Order $order, array $invoice ): bool {
		return ( $invoice['metadata'][ self::METADATA ] ?? '' ) === (string) $order->get_id();
	}

	/** Takes what was noted of another order's invoice away from its copy. The caller saves the order. */
	public static function forget_copied( \WC_Order $order ): void {
		array_map( array( $order, 'delete_meta_data' ), self::NOTED );
	}

	/** What an invoice can change of its order. */
	private static function noted( \WC_Order $order ): array {
		return array( $order->get_status(), array_map( array( $order, 'get_meta' ), self::NOTED ) );
	}

	/** Reads an invoice and moves its order on. Throws Failure when the service cannot be asked. */
	public static function refresh( int $order_id, string $invoice_id, string $type = '', string $event_id = '' ): void {
		self::alone(
			$order_id,
			static function ( \WC_Order $order ) use ( $invoice_id, $type, $event_id ) {
				if ( ! in_array( $invoice_id, self::invoices( $order ), true ) ) {
					return;
				}
				$invoice = Client::known( $invoice_id );
				if ( null === $invoice ) {
					return;
				}
				$before = self::noted( $order );
				self::apply( $order, $invoice, $type, $event_id );
				// others act whenever an order is saved, and it is looked at every hour
				if ( self::noted( $order ) !== $before ) {
					$order->save();
				}
			}
		);
	}

	/** Reads every invoice of an order, also those over a former amount. Throws Failure when the service cannot be asked. */
	public static function refresh_all( \WC_Order $order ): void {
		foreach ( self::invoices( $order ) as $invoice ) {
			self::refresh( $order->get_id(), $invoice );
		}
	}

	/** Whether this method is the one that the payer chose last: of another one's order nothing but a payment is told. */
	public static function is_ours( \WC_Order $order ): bool {
		return Settings::GATEWAY === $order->get_payment_method();
	}

	public static function invoices( \WC_Order $order ): array {
		$stored = $order->get_meta( self::INVOICES );
		return is_array( $stored ) ? $stored : array();
	}

	/** Makes an invoice the order's present one. */
	public static function keep( \WC_Order $order, array $invoice ): void {
		$all = self::invoices( $order );
		if ( ! in_array( $invoice['id'], $all, true ) ) {
			$all[] = $invoice['id'];
		}
		$order->update_meta_data( self::INVOICES, $all );
		$order->update_meta_data( self::INVOICE, $invoice['id'] );
		$order->update_meta_data( self::STATE, 'new' );
		Payer::note( $order, $invoice );
		$cost  = self::decimal( $order->get_total() );
		$asked = self::asked( $order );
		if ( $cost !== $asked ) {
			/* translators: 1: an invoice, 2: an amount, 3: a currency, 4: what the order costs */
			$text = __( 'Invoice %1$s asks for %2$s %3$s: %4$s rounded up, because an invoice has no more decimals.', 'countinghouse' );
			self::tell( $order, 'rounded-' . $invoice['id'], $text, $invoice['id'], $asked, $order->get_currency(), $cost );
		}
		$order->save();
	}

	/** Moves an order on; call it within `alone`, and save the order afterwards. */
	public static function apply( \WC_Order $order, array $invoice, string $type = '', string $event_id = '' ): void {
		if ( ! self::is_of( $order, $invoice ) ) {
			return;
		}
		$payment  = is_array( $invoice['payment'] ?? null ) ? $invoice['payment'] : array();
		$received = (float) ( $payment['received'] ?? 0 ) > 0;
		$present  = $order->get_meta( self::INVOICE ) === $invoice['id'];
		if ( $present ) {
			Payer::note( $order, $invoice );
		}
		if ( 'paid' === $invoice['status'] ) {
			if ( ! empty( $payment['undone'] ) ) {
				self::undo( $order, $invoice );
			} else {
				self::settle( $order, $invoice, $payment );
			}
			Refunds::book( $order, $invoice, $payment );
		} elseif ( 'canceled' === $invoice['status'] ) {
			if ( $present ) {
				self::cancel( $order, $invoice, $received );
			}
		} elseif ( $received ) {
			self::hold( $order, $invoice, $payment, $present );
		} elseif ( $present && null !== ( $payment['status'] ?? null ) ) {
			if ( 'seen' === $order->get_meta( self::STATE ) ) {
				self::lose( $order, $invoice );
			}
			$order->update_meta_data( self::STATE, 'overdue' === $payment['status'] ? 'overdue' : 'requested' );
		}
		if ( 'invoice.overdue' === $type ) {
			/* translators: %s: an invoice */
			self::tell( $order, $event_id, __( 'Invoice %s is overdue: its price holds no longer, and not enough has come.', 'countinghouse' ), $invoice['id'] );
		}
	}

	/** Money came, and it is too little or not confirmed yet. */
	private static function hold( \WC_Order $order, array $invoice, array $payment, bool $present ): void {
		$short = ! empty( $payment['underpaid'] );
		$text  = $short
			/* translators: 1: an invoice, 2: an amount, 3: a cryptocurrency, 4: the amount that is missing */
			? __( 'Invoice %1$s: %2$s %3$s came, %4$s %3$s is missing.', 'countinghouse' )
			/* translators: 1: an invoice, 2: an amount, 3: a cryptocurrency */
			: __( 'Invoice %1$s: %2$s %3$s seen, not confirmed yet.', 'countinghouse' );
		$name = ( $short ? 'short-of-' : 'seen-' ) . $invoice['id'] . '-' . $payment['received'];
		self::tell( $order, $name, $text, $invoice['id'], $payment['received'], $payment['crypto'], $payment['remaining'] ?? '' );
		if ( $present ) {
			$order->update_meta_data( self::STATE, 'seen' );
		}
		if ( self::is_ours( $order ) && $order->has_status( array( 'pending', 'failed', 'cancelled' ) ) ) {
			$order->set_status( 'on-hold' );
		}
	}

	/** What was seen is gone: the payer, or somebody else, spent the same coins in another way. */
	private static function lose( \WC_Order $order, array $invoice ): void {
		/* translators: %s: an invoice */
		$order->add_order_note( esc_html( sprintf( __( 'Invoice %s: the payment that was seen was taken back. Nothing came.', 'countinghouse' ), $invoice['id'] ) ) );
		if ( $order->has_status( 'on-hold' ) && self::is_ours( $order ) ) {
			// an email: the order stays on hold, of which WooCommerce sends none a second time
			$order->add_order_note( esc_html( Payer::said( $order ) . ' ' . Payer::link( $order ) ), 1 );
		}
	}

	private static function settle( \WC_Order $order, array $invoice, array $payment ): void {
		$paid_by = $order->get_meta( self::PAID_BY );
		if ( $paid_by === $invoice['id'] ) {
			self::redo( $order, $invoice );
			return;
		}
		if ( $order->has_status( 'trash' ) ) {
			/* translators: %s: an invoice */
			self::tell( $order, 'trash-' . $invoice['id'], __( 'Invoice %s is paid, and the order is in the trash. Take it out: then it is marked paid within an hour.', 'countinghouse' ), $invoice['id'] );
			return;
		}
		// an order of ours that is paid without an invoice was marked so by hand: the payer paid it once
		$by_hand = $order->is_paid() && self::is_ours( $order );
		if ( '' !== (string) $paid_by || ( $order->is_paid() && ! $by_hand ) || $order->has_status( 'refunded' ) ) {
			/* translators: %s: an invoice */
			self::tell( $order, 'twice-' . $invoice['id'], __( 'Invoice %s was paid too, though nothing is owed for this order. The payer should get it back.', 'countinghouse' ), $invoice['id'] );
			return;
		}
		if ( ! self::matches( $order, $invoice ) ) {
			/* translators: 1: an invoice, 2: what was paid, 3: what the order costs */
			$text = __( 'NOT marked paid: invoice %1$s was paid with %2$s, and the order costs %3$s.', 'countinghouse' );
			$cost = self::asked( $order ) . ' ' . $order->get_currency();
			self::tell( $order, 'differs-' . $invoice['id'] . '-' . $cost, $text, $invoice['id'], $invoice['amount'] . ' ' . $invoice['currency'], $cost );
			if ( ! $by_hand ) {
				$order->set_status( 'on-hold' );
			}
			return;
		}
		$order->update_meta_data( self::PAID_BY, $invoice['id'] );
		$order->update_meta_data( self::STATE, 'paid' );
		/* translators: 1: an invoice, 2: an amount, 3: a cryptocurrency */
		$text = __( 'Invoice %1$s is paid with %2$s %3$s.', 'countinghouse' );
		self::tell( $order, 'paid-' . $invoice['id'], $text, $invoice['id'], $payment['confirmed'] ?? '', $payment['crypto'] ?? '' );
		if ( ! empty( $payment['overpaid'] ) ) {
			/* translators: %s: an invoice */
			self::tell( $order, 'over-' . $invoice['id'], __( 'More came for invoice %s than was owed.', 'countinghouse' ), $invoice['id'] );
		}
		if ( $by_hand ) {
			self::tell( $order, 'by-hand-' . $invoice['id'], __( 'The order was marked paid by hand before. If it was paid in another way too, the payer should get this back: delete the refund that is booked for the order then.', 'countinghouse' ) );
		} elseif ( ! $order->payment_complete( $invoice['id'] ) && ! $order->is_paid() ) {
			// it is paid where only another plug-in failed after that
			$order->delete_meta_data( self::PAID_BY );
			$order->save();
			throw new Failure( __( 'WooCommerce could not mark the order paid.', 'countinghouse' ) );
		}
	}

	/** A reorganisation of the chain took the payment away. */
	private static function undo( \WC_Order $order, array $invoice ): void {
		if ( $order->get_meta( self::PAID_BY ) !== $invoice['id'] || 'undone' === $order->get_meta( self::STATE ) ) {
			return;
		}
		$order->update_meta_data( self::STATE, 'undone' );
		$order->update_meta_data( self::BEFORE_UNDONE, $order->get_status() );
		/* translators: %s: an invoice */
		$order->add_order_note( esc_html( sprintf( __( 'The payment of invoice %s was UNDONE by the blockchain. Do not deliver before it is confirmed again.', 'countinghouse' ), $invoice['id'] ) ) );
		if ( $order->is_paid() ) {
			$order->set_status( 'on-hold' );
		}
	}

	/** The payment that was undone is confirmed again. */
	private static function redo( \WC_Order $order, array $invoice ): void {
		if ( 'undone' !== $order->get_meta( self::STATE ) ) {
			return;
		}
		$before = (string) $order->get_meta( self::BEFORE_UNDONE );
		$order->update_meta_data( self::STATE, 'paid' );
		$order->delete_meta_data( self::BEFORE_UNDONE );
		/* translators: %s: an invoice */
		$order->add_order_note( esc_html( sprintf( __( 'The payment of invoice %s is confirmed again.', 'countinghouse' ), $invoice['id'] ) ) );
		if ( '' !== $before && $order->has_status( 'on-hold' ) ) {
			$order->set_status( $before );
		}
	}

	private static function cancel( \WC_Order $order, array $invoice, bool $received ): void {
		$order->update_meta_data( self::STATE, 'canceled' );
		if ( $received ) {
			/* translators: %s: an invoice */
			self::tell( $order, 'short-' . $invoice['id'], __( 'Invoice %s was canceled, but some money came for it: see "countinghouse inbox list".', 'countinghouse' ), $invoice['id'] );
			return;
		}
		/* translators: %s: an invoice */
		self::tell( $order, 'canceled-' . $invoice['id'], __( 'Invoice %s was canceled: nothing came.', 'countinghouse' ), $invoice['id'] );
		if ( ! self::is_ours( $order ) ) {
			return;
		}
		if ( $order->has_status( 'on-hold' ) ) {
			// money was seen and did not come through
			$order->set_status( 'failed' );
		} elseif ( $order->has_status( 'pending' ) ) {
			$order->set_status( 'cancelled' );
		}
	}

	/** Adds a note, unless one was added under the same name. */
	public static function tell( \WC_Order $order, string $name, string $text, ...$values ): void {
		$told = $order->get_meta( self::TOLD );
		$told = is_array( $told ) ? $told : array();
		if ( '' !== $name && in_array( $name, $told, true ) ) {
			return;
		}
		$order->update_meta_data( self::TOLD, array_slice( array_merge( $told, array( $name ) ), -self::TOLD_MAX ) );
		$order->add_order_note( esc_html( vsprintf( $text, $values ) ) );
	}

	/** Ends the invoice of an order that was canceled in the shop. */
	public static function drop_invoice( $order_id, $order = null ): void {
		$order = $order instanceof \WC_Order ? $order : wc_get_order( $order_id );
		if ( ! $order instanceof \WC_Order || 'canceled' === $order->get_meta( self::STATE ) || Settings::is_copy() ) {
			return;
		}
		$invoice = (string) $order->get_meta( self::INVOICE );
		if ( ! self::is_ours( $order ) || '' === $invoice || $order->get_meta( self::PAID_BY ) === $invoice ) {
			return;
		}
		try {
			if ( self::is_of( $order, Client::invoice( $invoice ) ) ) {
				Client::delete_invoice( $invoice );
			}
		} catch ( Failure $failure ) {
			/* translators: 1: an invoice, 2: the reason */
			$text = __( 'Invoice %1$s could not be ended, so that it can still be paid: %2$s', 'countinghouse' );
			$order->add_order_note( esc_html( sprintf( $text, $invoice, $failure->getMessage() ) ) );
		}
	}

	public static function add_action( $actions ) {
		global $theorder;
		if ( $theorder instanceof \WC_Order && '' !== (string) $theorder->get_meta( self::INVOICE ) ) {
			$actions['countinghouse_refresh'] = __( 'Read the Countinghouse invoice again', 'countinghouse' );
		}
		return $actions;
	}

	/** The order action: for an event that was missed. */
	public static function refresh_now( \WC_Order $order ): void {
		try {
			self::refresh_all( $order );
		} catch ( Failure $failure ) {
			$order->add_order_note( esc_html( $failure->getMessage() ) );
		}
	}
}
