<?php
/**
 * Looks after orders whose events do not arrive: a firewall or a security plug-in may refuse them, and a shop may be away for so long
 * that nothing is sent any more. A paid order must not wait for that.
 */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Watch {
	public const HOOK = 'countinghouse_look';
	/** The last order that was looked at. */
	public const LOOKED_AT = 'countinghouse_looked_at';

	private const UNDER_WAY   = array( 'requested', 'seen', 'overdue' );
	private const DAYS        = 45;
	private const OPEN_MAX    = 1000;
	private const OTHERS_MAX  = 100;
	private const ORDERS_MAX  = 200;
	private const SECONDS_MAX = 20;

	public static function listen(): void {
		add_filter( 'woocommerce_cancel_unpaid_order', array( self::class, 'may_be_canceled' ), 10, 2 );
		add_action( self::HOOK, array( self::class, 'look' ) );
		add_action(
			'init',
			static function () {
				if ( ! wp_next_scheduled( self::HOOK ) ) {
					wp_schedule_event( time() + HOUR_IN_SECONDS, 'hourly', self::HOOK );
				}
			}
		);
	}

	public static function end(): void {
		wp_clear_scheduled_hook( self::HOOK );
	}

	/**
	 * Once an hour: reads the invoices of orders that wait for money, or that are canceled or have another method by now and may get some.
	 * Where they are more than ORDERS_MAX, or take longer than SECONDS_MAX, the next look goes on with the others; it knows of the newest
	 * OPEN_MAX and OTHERS_MAX.
	 */
	public static function look(): void {
		if ( Settings::is_copy() ) {
			return;
		}
		$begun = time();
		foreach ( self::next_orders() as $id ) {
			update_option( self::LOOKED_AT, $id, false );
			$order = wc_get_order( $id );
			try {
				if ( $order instanceof \WC_Order ) {
					Orders::refresh_all( $order );
				}
			} catch ( Failure $failure ) {
				Settings::log( "Order $id: " . $failure->getMessage() );
				if ( Failure::BUSY !== $failure->status ) {
					return;
				}
			}
			if ( time() - $begun >= self::SECONDS_MAX ) {
				return;
			}
		}
	}

	/** Those that come after the one that was looked at last, and then the first ones. */
	private static function next_orders(): array {
		$open   = self::newest( array( 'pending', 'on-hold', 'failed' ), self::OPEN_MAX, array( 'payment_method' => Settings::GATEWAY ) );
		$noted  = array( 'meta_key' => Orders::STATE, 'meta_value' => self::UNDER_WAY, 'meta_compare' => 'IN' );
		$others = self::newest( array( 'pending', 'on-hold', 'failed', 'cancelled', 'processing', 'completed', 'refunded' ), self::OTHERS_MAX, $noted );
		$ids    = array_unique( array_merge( $open, $others ) );
		sort( $ids );
		$last  = (int) get_option( self::LOOKED_AT, 0 );
		$later = static fn( $id ) => $id > $last;
		$first = static fn( $id ) => $id <= $last;
		return array_slice( array_merge( array_filter( $ids, $later ), array_filter( $ids, $first ) ), 0, self::ORDERS_MAX );
	}

	private static function newest( array $statuses, int $max, array $which ): array {
		return wc_get_orders(
			$which + array(
				'type'         => 'shop_order',
				'status'       => $statuses,
				'date_created' => '>' . ( time() - self::DAYS * DAY_IN_SECONDS ),
				'limit'        => $max,
				'orderby'      => 'date',
				'order'        => 'DESC',
				'return'       => 'ids',
			)
		);
	}

	/**
	 * WooCommerce cancels orders that nobody paid; not those whose payer was given an address. The event about that may not have come, so
	 * the service is asked first; while it does not answer, no order is canceled whose invoice may still be paid in time.
	 */
	public static function may_be_canceled( $may, $order ) {
		static $is_away = false;
		if ( ! $may || ! $order instanceof \WC_Order ) {
			return $may;
		}
		$invoice = (string) $order->get_meta( Orders::INVOICE );
		$is_asked = 'new' === $order->get_meta( Orders::STATE ) && '' !== $invoice && ! Settings::is_copy();
		if ( Orders::is_ours( $order ) && $is_asked ) {
			try {
				if ( ! $is_away ) {
					Orders::refresh( $order->get_id(), $invoice );
				}
			} catch ( Failure $failure ) {
				Settings::log( 'Order ' . $order->get_id() . ': ' . $failure->getMessage() );
				if ( Failure::BUSY === $failure->status ) {
					return false;
				}
				$is_away = true;
			}
			if ( $is_away && ! self::is_over( $order ) ) {
				return false;
			}
			$now = wc_get_order( $order->get_id() );
			// it was moved on: WooCommerce would cancel what it read before
			if ( ! $now instanceof \WC_Order || $now->get_status() !== $order->get_status() ) {
				return false;
			}
			$order = $now;
		}
		return self::waits( $order ) ? false : $may;
	}

	/**
	 * Whether the days to pay have passed since the order was saved last, which it was with its invoice: a service that is gone must not
	 * hold its stock for ever.
	 */
	private static function is_over( \WC_Order $order ): bool {
		$saved = $order->get_date_modified();
		return null !== $saved && time() > $saved->getTimestamp() + ( Settings::days() + 1 ) * DAY_IN_SECONDS;
	}

	/** Whether money has come for an order, or may come. */
	private static function waits( \WC_Order $order ): bool {
		return '' !== (string) $order->get_meta( Orders::PAID_BY )
			|| ( Orders::is_ours( $order ) && in_array( $order->get_meta( Orders::STATE ), self::UNDER_WAY, true ) );
	}
}
