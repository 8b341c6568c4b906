<?php
/** The WordPress of a test: everything that differs from run to run comes from the environment. */

define( 'DB_NAME', 'wordpress' );
define( 'DB_USER', 'root' );
define( 'DB_PASSWORD', '' );
define( 'DB_HOST', 'localhost:' . getenv( 'SHOP_DATABASE' ) );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'DB_COLLATE', '' );
foreach ( array( 'AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE' ) as $name ) {
	define( $name . '_KEY', 'only for tests ' . $name );
	define( $name . '_SALT', 'only for tests, salt ' . $name );
}
define( 'WP_HOME', getenv( 'SHOP_URL' ) );
define( 'WP_SITEURL', getenv( 'SHOP_URL' ) );
define( 'WP_CONTENT_DIR', ABSPATH . 'wp-content' );
define( 'WP_DEBUG', true );
define( 'WP_DEBUG_DISPLAY', false );
define( 'WP_DEBUG_LOG', ABSPATH . 'debug.log' );
define( 'DISABLE_WP_CRON', true );
define( 'AUTOMATIC_UPDATER_DISABLED', true );
// nothing leaves the machine
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'WP_ACCESSIBLE_HOSTS', '127.0.0.1' );

$table_prefix = 'wp_';

require_once ABSPATH . 'wp-settings.php';
