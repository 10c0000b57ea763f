import SheafWorker

// The worker as it is shipped; a user's own worker is as short.
WorkerMain.run()
