<?php
/** Removes the settings, the API key among them. What orders say about their invoices stays with the orders. */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

delete_option( 'woocommerce_countinghouse_settings' );
delete_option( 'countinghouse_last_event' );
delete_option( 'countinghouse_looked_at' );
delete_option( 'countinghouse_site' );
wp_clear_scheduled_hook( 'countinghouse_look' );

global $wpdb;
$countinghouse_names = $wpdb->get_col(
	$wpdb->prepare( "SELECT option_name FROM {$wpdb->options} WHERE option_name LIKE %s", $wpdb->esc_like( 'countinghouse_withdrawal_' ) . '%' )
);
array_map( 'delete_option', $countinghouse_names );
